package redact

// pattern is one form of a secret.
type pattern struct {
	mute
	text string
	sums []uint64 // the hashes of its beginnings whose lengths are multiples of compared
}

// compared is how much of a pattern is compared byte by byte before hashes are.
const compared = 64

func newPattern(text string) *pattern {
	p := &pattern{text: text}
	for sum, i := uint64(0), 0; i < len(text); i++ {
		if i%compared == 0 {
			p.sums = append(p.sums, sum)
		}
		sum = appended(sum, text[i])
	}
	return p
}

// hash is the hash of so many bytes of its beginning.
func (p *pattern) hash(length int) digest {
	nearest := min(length/compared, len(p.sums)-1)
	sum := p.sums[nearest]
	for i := nearest * compared; i < length; i++ {
		sum = appended(sum, p.text[i])
	}
	return digest{sum, power(length)}
}

// node is a beginning that patterns share up to where they part, or one of them ends: thousands of tokens of one issuer begin alike, and a text that begins
// like them is compared with what they share once.
type node struct {
	mute
	of     *pattern // one of them
	length int
	hash   digest
	ends   bool           // a pattern is as long as this
	next   map[byte]*node // by the byte that comes then
}

func beginning(p *pattern, length int) *node {
	return &node{of: p, length: length, hash: p.hash(length), next: map[byte]*node{}}
}

// with is the node with a pattern more, of which so many bytes are known to be the same.
func (n *node) with(p *pattern, same int) *node {
	if n == nil {
		n = beginning(p, len(p.text))
		n.ends = true
		return n
	}
	for same < min(n.length, len(p.text)) && n.of.text[same] == p.text[same] {
		same++
	}
	if same < n.length {
		longer := n
		n = beginning(longer.of, same)
		n.next[longer.of.text[same]] = longer
	}
	if same == len(p.text) {
		n.ends = true
		return n
	}
	n.next[p.text[same]] = n.next[p.text[same]].with(p, same)
	return n
}
