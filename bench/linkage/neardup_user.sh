# The commands that a user of neardup writes: neardup_user.sh NEARDUP RECORDS.csv OUTPUT [SIMILARITY]
records=$2
"$1" dedup "$records" --match title=char:3,.4 --match abstract=char:5,.2 --output "$3/abstracts" && records=$3/abstracts/corpus
"$1" dedup "$records" --match "title=char:3,${4:-.7}" --match authors=word:1,.5,missing-ok --match year=equal --output "$3/years"
