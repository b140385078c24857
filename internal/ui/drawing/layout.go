package drawing

import (
	"cmp"
	"slices"
)

// box is a node of a drawing: how large it is, and where its centre is put. Units
// are pixels.
type box struct{ width, height, x, y float64 }

// link is an edge of a drawing from one box to another one, by index.
type link struct {
	from, to   int
	isBackward bool    // it would close a circle: it goes from right to left
	path       []point // where it goes, its two ends included
}

type point struct{ x, y float64 }

// Distances between boxes.
const (
	gapX, gapY = 48, 10
	sweeps     = 8      // by which the order within columns is improved
	maxPoints  = 20_000 // on the way of long links; beyond that they go straight
	gridWidth  = 1000   // of the boxes without a link
)

// placeLayers puts boxes into columns, so that links go from left to right, and
// orders each column so that few of them cross: longest paths, then barycentres
// (Sugiyama, Tagawa and Toda, 1981). A long link goes by points in the columns
// between. Boxes without a link stand in rows below. The result is the size of
// the drawing.
func placeLayers(boxes []box, links []link) (width, height float64) {
	l := &layout{boxes: boxes, links: links, column: make([]int, len(boxes)), isLinked: make([]bool, len(boxes))}
	l.assign()
	l.split()
	l.arrange()
	width, height = l.place()
	l.route()
	return l.placeUnlinked(width, height)
}

// layout is a drawing in the making.
type layout struct {
	boxes    []box
	links    []link
	column   []int  // of each box
	isLinked []bool // of each box

	vertices []vertex
	columns  [][]int // of vertices, in their order
	chains   [][]int // of each link, its vertices
}

// vertex is a box, or a point on the way of a link.
type vertex struct {
	box           int // -1: a point
	before, after []int
	rank          float64 // in its column
	y, height     float64
	x             float64
}

// assign gives each box a column right of all that link to it.
func (l *layout) assign() {
	next := make([][]int, len(l.boxes)) // links
	waiting := make([]int, len(l.boxes))
	for i := range l.links {
		next[l.links[i].from] = append(next[l.links[i].from], i)
		l.isLinked[l.links[i].from], l.isLinked[l.links[i].to] = true, true
	}
	l.findCircles(next)
	for _, k := range l.links {
		if !k.isBackward {
			waiting[k.to]++
		}
	}
	var ready []int
	for b := range l.boxes {
		if waiting[b] == 0 {
			ready = append(ready, b)
		}
	}
	for len(ready) > 0 {
		b := ready[0]
		ready = ready[1:]
		for _, i := range next[b] {
			k := &l.links[i]
			if k.isBackward {
				continue
			}
			l.column[k.to] = max(l.column[k.to], l.column[b]+1)
			if waiting[k.to]--; waiting[k.to] == 0 {
				ready = append(ready, k.to)
			}
		}
	}
}

// findCircles marks the links that lead back to a box on the way to them. It
// needs no stack as deep as the graph is long.
func (l *layout) findCircles(next [][]int) {
	const open, done = 1, 2
	state := make([]int, len(l.boxes))
	at := make([]int, len(l.boxes)) // of each box: how many of its links were followed
	for start := range l.boxes {
		if state[start] != 0 {
			continue
		}
		path := []int{start}
		state[start] = open
		for len(path) > 0 {
			b := path[len(path)-1]
			if at[b] == len(next[b]) {
				state[b] = done
				path = path[:len(path)-1]
				continue
			}
			k := &l.links[next[b][at[b]]]
			at[b]++
			switch state[k.to] {
			case open:
				k.isBackward = true
			case 0:
				state[k.to] = open
				path = append(path, k.to)
			}
		}
	}
}

// split makes the vertices: boxes with links, and points on long links.
func (l *layout) split() {
	total, last := 0, 0
	for _, k := range l.links {
		if !k.isBackward {
			total += l.column[k.to] - l.column[k.from] - 1
		}
	}
	of := make([]int, len(l.boxes))
	for b := range l.boxes {
		if l.isLinked[b] {
			last = max(last, l.column[b])
		}
	}
	l.columns = make([][]int, last+1)
	add := func(column int, v vertex) int {
		v.rank = float64(len(l.columns[column]))
		l.vertices = append(l.vertices, v)
		l.columns[column] = append(l.columns[column], len(l.vertices)-1)
		return len(l.vertices) - 1
	}
	for b := range l.boxes {
		if l.isLinked[b] {
			of[b] = add(l.column[b], vertex{box: b, height: l.boxes[b].height})
		}
	}
	l.chains = make([][]int, len(l.links))
	for i, k := range l.links {
		chain := []int{of[k.from]}
		if !k.isBackward && total <= maxPoints {
			for c := l.column[k.from] + 1; c < l.column[k.to]; c++ {
				chain = append(chain, add(c, vertex{box: -1, height: 2}))
			}
		}
		chain = append(chain, of[k.to])
		l.chains[i] = chain
		if k.isBackward || total > maxPoints && l.column[k.to]-l.column[k.from] > 1 {
			continue
		}
		for j := 1; j < len(chain); j++ {
			l.vertices[chain[j-1]].after = append(l.vertices[chain[j-1]].after, chain[j])
			l.vertices[chain[j]].before = append(l.vertices[chain[j]].before, chain[j-1])
		}
	}
}

// arrange orders the columns, and keeps the order with the fewest crossings.
func (l *layout) arrange() {
	best, fewest := l.orders(), l.crossings()
	for sweep := range sweeps {
		for c := range l.columns {
			down := sweep%2 == 0
			if !down {
				c = len(l.columns) - 1 - c
			}
			l.sortColumn(c, down)
		}
		if n := l.crossings(); n < fewest {
			best, fewest = l.orders(), n
		}
	}
	for c, order := range best {
		l.setOrder(c, order)
	}
}

func (l *layout) orders() [][]int {
	out := make([][]int, len(l.columns))
	for c, column := range l.columns {
		out[c] = slices.Clone(column)
	}
	return out
}

func (l *layout) setOrder(c int, order []int) {
	l.columns[c] = order
	for i, v := range order {
		l.vertices[v].rank = float64(i)
	}
}

// sortColumn puts each vertex where its neighbours are on average.
func (l *layout) sortColumn(c int, down bool) {
	mean := make(map[int]float64, len(l.columns[c]))
	for _, v := range l.columns[c] {
		neighbours := l.vertices[v].before
		if !down {
			neighbours = l.vertices[v].after
		}
		mean[v] = l.vertices[v].rank
		if len(neighbours) > 0 {
			sum := 0.0
			for _, n := range neighbours {
				sum += l.vertices[n].rank
			}
			mean[v] = sum / float64(len(neighbours))
		}
	}
	order := slices.Clone(l.columns[c])
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
	l.setOrder(c, order)
}

// crossings counts the pairs of links that cross, by inversions.
func (l *layout) crossings() (n int) {
	for c := range len(l.columns) - 1 {
		counts := make([]int, len(l.columns[c+1])+1) // a Fenwick tree of the ends seen
		seen := 0
		for _, v := range l.columns[c] {
			var ends []int
			for _, w := range l.vertices[v].after {
				ends = append(ends, int(l.vertices[w].rank)+1)
			}
			for _, e := range ends {
				upTo := 0
				for i := e; i > 0; i -= i & -i {
					upTo += counts[i]
				}
				n += seen - upTo
			}
			for _, e := range ends {
				for i := e; i < len(counts); i += i & -i {
					counts[i]++
				}
				seen++
			}
		}
	}
	return n
}

// place gives the vertices coordinates: each near its neighbours, in the order
// of its column, and none over another one.
func (l *layout) place() (width, height float64) {
	for _, column := range l.columns {
		y := 0.0
		for _, v := range column {
			l.vertices[v].y = y + l.vertices[v].height/2
			y += l.vertices[v].height + gapY
		}
	}
	for round := range 2 * sweeps {
		for c := range l.columns {
			if round%2 == 1 {
				c = len(l.columns) - 1 - c
			}
			l.pull(l.columns[c])
		}
	}
	top := 0.0
	for i := range l.vertices {
		v := &l.vertices[i]
		top = min(top, v.y-v.height/2)
	}
	for _, column := range l.columns {
		widest := 0.0
		for _, v := range column {
			if b := l.vertices[v].box; b >= 0 {
				widest = max(widest, l.boxes[b].width)
			}
		}
		for _, v := range column {
			l.vertices[v].x = width + widest/2
			l.vertices[v].y -= top
			height = max(height, l.vertices[v].y+l.vertices[v].height/2)
			if b := l.vertices[v].box; b >= 0 {
				l.boxes[b].x, l.boxes[b].y = l.vertices[v].x, l.vertices[v].y
			}
		}
		width += widest + gapX
	}
	return max(width-gapX, 0), height
}

// pull moves the vertices of a column towards their neighbours: as far down as
// they must, and as far up, and then the mean of both, which keeps the distances.
func (l *layout) pull(column []int) {
	want := make([]float64, len(column))
	for i, v := range column {
		neighbours := append(slices.Clone(l.vertices[v].before), l.vertices[v].after...)
		want[i] = l.vertices[v].y
		if len(neighbours) > 0 {
			sum := 0.0
			for _, n := range neighbours {
				sum += l.vertices[n].y
			}
			want[i] = sum / float64(len(neighbours))
		}
	}
	down, up := slices.Clone(want), slices.Clone(want)
	apart := func(i int) float64 {
		return (l.vertices[column[i-1]].height+l.vertices[column[i]].height)/2 + gapY
	}
	for i := 1; i < len(column); i++ {
		down[i] = max(down[i], down[i-1]+apart(i))
	}
	for i := len(column) - 1; i > 0; i-- {
		up[i-1] = min(up[i-1], up[i]-apart(i))
	}
	for i, v := range column {
		l.vertices[v].y = (down[i] + up[i]) / 2
	}
}

// route notes where the links go: from the right side of a box to the left one.
func (l *layout) route() {
	for i := range l.links {
		k := &l.links[i]
		chain := l.chains[i]
		from, to := l.boxes[k.from], l.boxes[k.to]
		k.path = []point{{from.x + from.width/2, from.y}}
		for _, v := range chain[1 : len(chain)-1] {
			k.path = append(k.path, point{l.vertices[v].x, l.vertices[v].y})
		}
		k.path = append(k.path, point{to.x - to.width/2, to.y})
	}
}

// placeUnlinked puts the boxes without a link into rows below.
func (l *layout) placeUnlinked(width, height float64) (float64, float64) {
	cell, x := 0.0, 0.0
	for b := range l.boxes {
		if !l.isLinked[b] {
			cell = max(cell, l.boxes[b].width)
		}
	}
	y := height
	if height > 0 {
		y += 2 * gapY
	}
	row := 0.0
	for b := range l.boxes {
		if l.isLinked[b] {
			continue
		}
		if x > 0 && x+cell > max(width, gridWidth) {
			x, y, row = 0, y+row+gapY, 0
		}
		l.boxes[b].x, l.boxes[b].y = x+l.boxes[b].width/2, y+l.boxes[b].height/2
		row = max(row, l.boxes[b].height)
		height, width = max(height, y+row), max(width, x+l.boxes[b].width)
		x += cell + gapY
	}
	return width, height
}
