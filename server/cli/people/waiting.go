package people

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// late is when waiting has become noticeable (CLI-09).
const late = time.Second

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// Waiting shows on a terminal that something goes on, once it has taken a second,
// and nothing anywhere else. The returned function ends that and leaves no trace.
func (p *CLI) Waiting(what func() string) (done func()) {
	file, isFile := p.ErrOut.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) || p.Getenv("TERM") == "dumb" {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		timer := time.NewTimer(late)
		defer timer.Stop()
		for turn := 0; ; turn++ {
			select {
			case <-stop:
				if turn > 0 {
					fmt.Fprint(file, "\r\x1b[K")
				}
				return
			case <-timer.C:
				fmt.Fprintf(file, "\r%c %s\x1b[K", spinner[turn%len(spinner)], what())
				timer.Reset(100 * time.Millisecond)
			}
		}
	}()
	var once sync.Once
	return func() {
		once.Do(func() {
			close(stop)
			<-stopped
		})
	}
}
