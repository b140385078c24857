package otlp

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tenetcm/tenet/internal/telemetry"
	"github.com/tenetcm/tenet/runtime/fault"
)

// Options say where to and as whom. URL is required.
type Options struct {
	URL     string // of the collector
	Headers string // that it demands, as OTEL_EXPORTER_OTLP_HEADERS has them; they may be secret
	Service string // what tells: service.name
	Version string
	Host    string // where it runs: host.name
	// IsShort says that this process does not last: it sends what has come since it sent last, and not what it has counted since its start.
	IsShort bool
	// Warn is told once that the collector cannot be reached, until it can be again; and at the end what was left out. Nil: nobody is.
	Warn func(error)
	// Every is how often numbers are sent; 0: a minute.
	Every time.Duration
	// Patience is how long Close waits at most, and a request; 0: 5 s.
	Patience time.Duration
}

const (
	defaultPatience = 5 * time.Second
	defaultEvery    = time.Minute
	batchSpans      = 512
	maxQueued       = 50_000 // spans
	firstPause      = time.Second
	longestPause    = time.Minute
)

// Sender sends what runs do, beside them: nobody waits for it but Close, and that no longer than the patience. What finds no place in its queue
// is left out, and counted.
type Sender struct {
	o        Options
	exporter telemetry.Exporter
	numbers  numbers
	wake     chan struct{}
	closing  chan struct{}
	done     chan struct{}
	once     sync.Once
	life     context.Context // ends the patience after Close is called
	end      func()

	mu        sync.Mutex
	queue     []telemetry.Span
	leftOut   int
	isFailing bool
}

// New begins to send.
func New(o Options) *Sender {
	o.Patience, o.Every = cmp.Or(o.Patience, defaultPatience), cmp.Or(o.Every, defaultEvery)
	s := &Sender{o: o, wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{})}
	s.life, s.end = context.WithCancel(context.Background())
	s.numbers.isDelta = o.IsShort
	s.numbers.reset()
	header, err := telemetry.ParseHeaders(o.Headers)
	if err != nil && o.Warn != nil {
		o.Warn(fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %w", err))
	}
	s.exporter = telemetry.Exporter{URL: o.URL, Header: header, Start: time.Now(), IsDelta: o.IsShort,
		Resource: []telemetry.Label{{Name: "service.name", Value: o.Service}, {Name: "service.version", Value: o.Version}, {Name: "host.name", Value: o.Host}}}
	fault.Go(s.work)
	return s
}

// Revision is the place in a trace of a revision of a site: whoever knows its name finds it.
func Revision(site, revision string) telemetry.Trace { return telemetry.TraceOf(site, revision) }

// Loop takes note of where a loop stands.
func (s *Sender) Loop(l Loop) {
	if s != nil {
		s.numbers.loop(l)
	}
}

// Execution sends the span of a command on many hosts, whose runs have place as their parent.
func (s *Sender) Execution(place, parent telemetry.Trace, about About, begin time.Time, hosts int, isFailed bool) {
	if s == nil {
		return
	}
	outcome := outcomeDone
	if isFailed {
		outcome = outcomeFailed
	}
	span := telemetry.Span{Trace: telemetry.Trace{ID: place.ID, Span: parent.Span}, ID: place.Span, Name: spanExecution, Start: begin, End: time.Now(), IsError: isFailed,
		Labels:  []telemetry.Label{{Name: attrSite, Value: about.Site}, {Name: attrExecution, Value: about.Execution}, {Name: attrOutcome, Value: outcome}},
		Numbers: []telemetry.Number{{Name: attrHosts, Value: int64(hosts)}}}
	if isFailed {
		span.Message = outcome
	}
	s.spans([]telemetry.Span{span})
}

// spans puts spans into the queue.
func (s *Sender) spans(list []telemetry.Span) {
	s.mu.Lock()
	room := max(0, maxQueued-len(s.queue))
	if len(list) > room {
		s.leftOut += len(list) - room
		list = list[:room] // parents come first
	}
	s.queue = append(s.queue, list...)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close sends what is left, and ends. What the collector has not taken until then is lost.
func (s *Sender) Close() {
	if s == nil {
		return
	}
	s.once.Do(func() {
		timer := time.AfterFunc(s.o.Patience, s.end)
		close(s.closing)
		<-s.done
		timer.Stop()
		s.end()
	})
}

func (s *Sender) work() {
	defer close(s.done)
	ticker := time.NewTicker(s.o.Every)
	defer ticker.Stop()
	for pause := time.Duration(0); ; {
		var again <-chan time.Time
		wake := s.wake
		if pause > 0 { // what was refused is not tried again with each run
			again, wake = time.After(pause), nil
		}
		isNumbers := false
		select {
		case <-s.closing:
			s.last()
			return
		case <-ticker.C:
			isNumbers = true
		case <-wake:
		case <-again:
		}
		ctx, cancel := context.WithTimeout(s.life, s.o.Patience)
		err := s.send(ctx)
		if isNumbers && err == nil {
			err = s.sendNumbers(ctx)
		}
		cancel()
		if pause = 2 * pause; err == nil {
			pause = 0
		} else {
			pause = min(max(pause, firstPause), longestPause)
		}
		s.tell(err)
	}
}

// last sends all that is there, once.
func (s *Sender) last() {
	err := s.send(s.life)
	if err == nil {
		err = s.sendNumbers(s.life)
	}
	s.tell(err)
	s.mu.Lock()
	lost := s.leftOut + len(s.queue)
	s.mu.Unlock()
	if lost > 0 && s.o.Warn != nil {
		s.o.Warn(fmt.Errorf("%d spans of traces were not sent to the collector", lost))
	}
}

// send sends the queue in batches. What the collector refuses for good is left out; what it may take later stays.
func (s *Sender) send(ctx context.Context) error {
	for {
		s.mu.Lock()
		n := min(batchSpans, len(s.queue))
		batch := s.queue[:n:n]
		s.mu.Unlock()
		if n == 0 {
			return nil
		}
		err := s.exporter.ExportSpans(ctx, batch)
		if err != nil && !telemetry.IsFinal(err) {
			return err
		}
		s.mu.Lock()
		if s.queue = s.queue[n:]; err != nil {
			s.leftOut += n
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// sendNumbers sends the numbers. Those of a short process that are not taken are lost: nobody could tell whether they have arrived.
func (s *Sender) sendNumbers(ctx context.Context) error {
	list := s.numbers.take()
	if len(list) == 0 {
		return nil
	}
	now := time.Now()
	err := s.exporter.Export(ctx, list)
	if s.o.IsShort {
		s.exporter.Start = now
	}
	return err
}

// tell warns of what fails, once until it goes well again.
func (s *Sender) tell(err error) {
	s.mu.Lock()
	isNew := err != nil && !s.isFailing
	s.isFailing = err != nil
	s.mu.Unlock()
	if isNew && s.o.Warn != nil {
		s.o.Warn(fmt.Errorf("the collector of telemetry { otlp } takes nothing: %w", err))
	}
}
