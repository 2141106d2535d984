# Completion of neardup for fish: neardup completion fish | source
complete -c neardup -a '(neardup __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
