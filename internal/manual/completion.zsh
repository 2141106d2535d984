#compdef neardup
# Completion of neardup for zsh: source <(neardup completion zsh)
_neardup() {
  local -a found=(${(f)"$(neardup __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  found=(${${found//:/\\:}/$'\t'/:})
  (( $#found )) && _describe neardup found
  (( $#found && CURRENT > 2 )) || _files
}
compdef _neardup neardup
