package report

import (
	"math"
	"strconv"
)

// number writes a figure with about three digits that count.
func number(v float64) string {
	switch abs := math.Abs(v); {
	case abs >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case abs >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// factor writes a ratio, with one digit more near 1, where bounds are.
func factor(v float64) string {
	if v < 1.1 {
		return strconv.FormatFloat(v, 'f', 3, 64) + "x"
	}
	return strconv.FormatFloat(v, 'f', 2, 64) + "x"
}

// absent stands where there is no figure.
const absent = "–"

func optional(v float64, ok bool) string {
	if !ok {
		return absent
	}
	return number(v)
}
