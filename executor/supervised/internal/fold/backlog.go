package fold

// record is the pool's debt for one accepted job.
type record[J, C any] struct {
	id       JobID
	ordinal  Ordinal
	payload  J
	customer C
	attempts int // assignments, less rejected deliveries
	last     int // the role that it was last assigned to, or None
}

// backlog is the queue of jobs that wait for a worker, a ring that grows.
//
// Invariant: ordinals strictly increase from the front, and a place that is not
// in use holds the zero record.
type backlog[J, C any] struct {
	ring  []record[J, C] // its length is a power of two, or zero
	first int
	n     int
}

func (q *backlog[J, C]) at(i int) *record[J, C] {
	return &q.ring[(q.first+i)&(len(q.ring)-1)]
}

// push appends r, whose ordinal is larger than any other.
func (q *backlog[J, C]) push(r *record[J, C]) {
	q.grow()
	*q.at(q.n) = *r
	q.n++
}

// insert puts r where its ordinal belongs. Only jobs that have come back stand
// before it, as it was the first when it left: at most one for each role.
func (q *backlog[J, C]) insert(r *record[J, C]) {
	q.grow()
	q.first = (q.first - 1) & (len(q.ring) - 1)
	q.n++
	i := 0
	for ; i+1 < q.n && q.at(i+1).ordinal < r.ordinal; i++ {
		*q.at(i) = *q.at(i + 1)
	}
	*q.at(i) = *r
}

// pop moves the front record to r.
func (q *backlog[J, C]) pop(r *record[J, C]) {
	front := q.at(0)
	*r = *front
	*front = record[J, C]{}
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
}

// grow makes room for one more.
func (q *backlog[J, C]) grow() {
	if q.n < len(q.ring) {
		return
	}
	ring := make([]record[J, C], max(2*len(q.ring), 8))
	for i := range q.n {
		ring[i] = *q.at(i)
	}
	q.ring, q.first = ring, 0
}
