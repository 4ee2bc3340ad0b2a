# bash completion for tsr(1). The program itself lists what can come next: `tsr complete -- WORD ...`.
_tsr() {
  local line=${COMP_LINE:0:COMP_POINT} words current head reply
  COMPREPLY=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  current=${words[-1]}
  # bash replaces only the text after the last word break, and '=' and ':' are word breaks.
  head=
  [[ $current == *=* && $COMP_WORDBREAKS == *=* ]] && head=${current%"${current##*=}"}
  [[ ${current#"$head"} == *:* && $COMP_WORDBREAKS == *:* ]] && head=${current%"${current##*:}"}
  head=${head#--*=} # replies have no "--option=" before them
  while IFS= read -r reply; do
    case $reply in
    :files) mapfile -O ${#COMPREPLY[@]} -t COMPREPLY < <(compgen -f -- "${current##*=}") && compopt -o filenames ;;
    :folders) mapfile -O ${#COMPREPLY[@]} -t COMPREPLY < <(compgen -d -- "${current##*=}") && compopt -o filenames ;;
    *=) COMPREPLY+=("${reply#"$head"}") && compopt -o nospace ;;
    *) COMPREPLY+=("${reply#"$head"}") ;;
    esac
  done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
} 2>/dev/null
complete -F _tsr tsr
