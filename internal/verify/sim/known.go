package sim

// known holds the operations that are left out because of a fault of the
// library that is reported and not mended yet.
var known = map[Kind]bool{}
