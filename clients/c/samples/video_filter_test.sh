# Texts that the video filter makes of expressions, and its words for those that it does not take: $1 is the program.
wrong=0

# row STATUS OUTPUT EXPRESSION
row() {
  said=$("$program" "$3" 2>&1)
  status=$?
  [ "$status $said" = "$1 $2" ] || { echo "$3: exit code $status: $said; expected $1: $2"; wrong=1; }
}

program=$1
head='x: u8, y: u8, z: u8; '
foreign='a word that is no operator, no number and none of x, y, z'
row 0 "${head}u8_sat(f32(x))" 'x'
row 0 "${head}t0 = f32(x) + f32(y); t1 = t0 / 2; u8_sat(t1)" 'x y + 2 /'
row 0 "${head}t0 = f32(x) - f32(x); t1 = f32(y) + t0; u8_sat(t1)" 'y x dup0 - +'
row 0 "${head}t0 = f32(y) - f32(x); t1 = f32(z) * t0; u8_sat(t1)" 'x y z swap2 - *'
row 0 "${head}t0 = -(-3); t1 = select(f32(x) > 0, t0, 255); u8_sat(t1)" 'x -3 neg range_max ?'
row 1 'an operator finds too few values' 'x +'
row 1 'other than one value is left' 'x y'
row 1 'other than one value is left' ''
row 1 'dup or swap reaches below the values' 'x dup1 +'
row 1 'dup or swap reaches below the values' 'x swap99999999999999999999'
for word in a dupe swapx dup-1 nan inf 1e999 3x 'x,y'; do row 1 "$foreign" "x $word +"; done
exit $wrong
