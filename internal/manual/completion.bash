# Completion of neardup for bash: source <(neardup completion bash)
_neardup() {
  local IFS=$'\n'
  COMPREPLY=($(neardup __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
  if ((COMP_CWORD == 1)); then # a command, or an input of the default one
    COMPREPLY+=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
  fi
}
complete -o bashdefault -o default -F _neardup neardup
