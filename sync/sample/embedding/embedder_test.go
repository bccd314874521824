package embedding_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pbmb/pbmb/sync/sample/embedding"
)

// SAMPLE-10: the same text gives the same vector, on every machine and at every
// start. A change of words.bin or of the computation changes the sum.
func TestVectorsAreTheSameEverywhere(t *testing.T) {
	texts := []string{
		"Net sales by region", "turnover", "qty", "NetSalesLY", "Umsatz je Kunde", "backorders", "revenu", "%", "…", "  ", "客戶", "2026-12-01",
		strings.Repeat("every word counts ", 500),
	}
	const want = "feb9e6092275d5a4"
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			e := newEmbedder(t)
			hash := sha256.New()
			for _, text := range texts {
				for _, x := range e.Embed(text) {
					_ = binary.Write(hash, binary.LittleEndian, math.Float32bits(x)) // a hash takes everything
				}
			}
			if got := fmt.Sprintf("%x", hash.Sum(nil))[:16]; got != want {
				t.Errorf("the sum is %s, want %s", got, want)
			}
		})
	}
	group.Wait()
}

func TestEveryTextHasAVectorOfLengthOne(t *testing.T) {
	e := newEmbedder(t)
	for text, tokens := range map[string]int{
		"": 1, " \t\n": 1, "…!?": 1, "sales": 1, "Net sales": 2, "NetSalesYTD": 5, "net_sales_ytd": 5, "Margin %": 2, "Q4 2026": 3,
		"the the the": 3, "xqzptlk": 1, "\x00\xff": 1, "😀": 1, "客戶 數量": 2, "customer's": 1, "KPIs": 3, strings.Repeat("a", 10_000): 200,
	} {
		v := e.Embed(text)
		if got := e.Tokens(text); got != tokens {
			t.Errorf("%.20q has %d tokens, want %d", text, got, tokens)
		}
		for _, dimensions := range []int{embedding.Dimensions, 32, 1} {
			cut := embedding.Cut(v, dimensions)
			if got := similarity(cut, cut); len(cut) != dimensions || math.Abs(got-1) > 1e-6 {
				t.Errorf("%.20q in %d dimensions has %d and a square of %v", text, dimensions, len(cut), got)
			}
		}
	}
}

// The ways in which one thing is written mean the same.
func TestSpellingsOfAName(t *testing.T) {
	e := newEmbedder(t)
	for text, same := range map[string]string{
		"NetSalesYTD": "net sales year to date", "net_sales-ytd": "Net Sales YTD", "NET SALES": "net sales", "Ｎｅｔ sálès": "net sales",
		"Margin%": "margin percent", "#Orders": "number orders", "FY2026": "fiscal year 2026", "SalesQ1": "sales first quarter",
		"SKUCount": "sku count", "customer’s": "customer", "KPIs": "key performance indicators",
	} {
		if !slices.Equal(e.Embed(text), e.Embed(same)) {
			t.Errorf("%s is not what %s is", text, same)
		}
	}
}

// SAMPLE-10: the first dimensions say most, so a short vector still tells meanings
// apart.
func TestShortVectorsKeepTheMeaning(t *testing.T) {
	e := newEmbedder(t)
	at := func(text string) []float32 { return embedding.Cut(e.Embed(text), 40) }
	for _, pair := range [][2]string{
		{"customer", "client"}, {"revenue", "turnover"}, {"salary", "wages"}, {"warehouse", "depot"}, {"late deliveries", "delayed shipments"},
	} {
		like := similarity(at(pair[0]), at(pair[1]))
		for _, other := range unrelated {
			if got := similarity(at(pair[0]), at(other)); got >= like {
				t.Errorf("%s and %s are %.2f alike, but %.2f with %s", pair[0], pair[1], like, got, other)
			}
		}
	}
}

func BenchmarkEmbed(b *testing.B) {
	e := newEmbedder(b)
	for name, text := range map[string]string{
		"measure":   "Net sales YTD. From January to the last day shown.",
		"unknown":   "Umsatzentwicklung Vorjahresvergleich custmer",
		"paragraph": strings.Repeat("What customers paid for goods after discounts, without tax. ", 20),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				e.Embed(text)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "texts/s")
		})
	}
}

// BenchmarkNew is what the first request waits for.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		newEmbedder(b)
	}
}
