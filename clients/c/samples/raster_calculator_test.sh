# Expressions that the raster calculator takes, and those for whose results or arguments it has no room: $1 is the program.
wrong=0

# row STATUS SENTENCE EXPRESSION
row() {
  said=$("$program" "$3" 2>&1)
  status=$?
  case $said in *"$2"*) ;; *) status="$status without the sentence" ;; esac
  [ "$status" = "$1" ] || { echo "$3: exit code $status, expected $1: $said"; wrong=1; }
}

program=$1
row 0 'mean 7.000000 of 700000' '7 + 0*height'
row 0 'mean 499.500000 of 700000' '499.5 + 0*nir + 0*red'
row 0 'mean 1.000000 of 700000' 'f32(height >= 0)'
row 2 'several results' '(red, nir)'
row 2 'several results' '(sum(red), nir, height)'
row 2 'another type' 'f64(height)'
row 2 'another type' 'i32(height)'
row 2 'another type' 'u8(height)'
row 2 'another type' 'index'
row 0 'mean 0.000000 of 700000' 'height > 401'
row 2 'one number for all pixels' 'sum(red)'
row 2 'one number for all pixels' 'max(1, mean(red))'
row 2 'a table' 'table height; height[index]'
row 2 'a band of another type' 'red: f64; f32(red)'
row 2 'no band x' 'red + x'
exit $wrong
