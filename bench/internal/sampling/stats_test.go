package sampling

import "testing"

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := Median(c.values); got != c.want {
			t.Errorf("the median of %v is %v, not %v", c.values, got, c.want)
		}
	}
}

func TestMedianLeavesItsArgumentAlone(t *testing.T) {
	values := []float64{3, 1, 2}
	Median(values)
	if values[0] != 3 || values[1] != 1 || values[2] != 2 {
		t.Errorf("the values are %v afterwards", values)
	}
}

func TestQuantile(t *testing.T) {
	sorted := make([]float64, 101)
	for i := range sorted {
		sorted[i] = float64(i)
	}
	for _, q := range []float64{0, 0.5, 0.99, 1} {
		if got := Quantile(sorted, q); got != 100*q {
			t.Errorf("the quantile %v is %v", q, got)
		}
	}
	if got := Quantile[float64](nil, 0.5); got != 0 {
		t.Errorf("the quantile of nothing is %v", got)
	}
}
