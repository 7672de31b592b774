// BigQuery's own client, for the tests of ours.
//
//	bigquery ADDRESS TABLE FROM TO    makes the table if it is missing, inserts the rows FROM..TO,
//	                                  and prints all of its rows, as JSON, a line each
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
)

type job struct {
	ID       string              `bigquery:"id" json:"id"`
	Number   int64               `bigquery:"number" json:"number"`
	Ratio    float64             `bigquery:"ratio" json:"ratio"`
	IsDone   bool                `bigquery:"is_done" json:"is_done"`
	Made     time.Time           `bigquery:"made" json:"made"`
	Samples  []float64           `bigquery:"samples" json:"samples"`
	Note     bigquery.NullString `bigquery:"note" json:"note"`
	Culprits []culprit           `bigquery:"culprits" json:"culprits"`
}

type culprit struct {
	Hash   string               `bigquery:"hash" json:"hash"`
	Effect bigquery.NullFloat64 `bigquery:"effect" json:"effect"`
}

// As the test in Rust makes them.
func row(number int64) *job {
	row := &job{
		ID:     fmt.Sprintf("job \"%d\"\nü", number),
		Number: number,
		Ratio:  1 / float64(number+3),
		IsDone: number%2 == 0,
		Made:   time.Date(2026, 1, 31, 12, 30, 0, 500_000_000, time.UTC),
	}
	for sample := range number % 4 {
		row.Samples = append(row.Samples, float64(sample)+0.5)
	}
	if number%3 == 0 {
		row.Note = bigquery.NullString{StringVal: "note", Valid: true}
	}
	if number%2 == 1 {
		row.Culprits = []culprit{{Hash: "0"}}
	}
	return row
}

func run(ctx context.Context, address, table string, from, to int64) error {
	client, err := bigquery.NewClient(ctx, "p", option.WithEndpoint(address+"/bigquery/v2/"), option.WithoutAuthentication())
	if err != nil {
		return err
	}
	defer client.Close()
	schema, err := bigquery.InferSchema(job{})
	if err != nil {
		return err
	}
	place := client.Dataset("d").Table(table)
	var refusal *googleapi.Error
	err = place.Create(ctx, &bigquery.TableMetadata{Schema: schema})
	if err != nil && !(errors.As(err, &refusal) && refusal.Code == http.StatusConflict) {
		return err
	}
	var rows []*bigquery.StructSaver
	for number := from; number < to; number++ {
		id := fmt.Sprintf("row-%d", number)
		rows = append(rows, &bigquery.StructSaver{Schema: schema, InsertID: id, Struct: row(number)})
	}
	if err := place.Inserter().Put(ctx, rows); err != nil {
		return err
	}
	query := client.Query("SELECT * FROM d." + table + " WHERE number IN UNNEST(@numbers)")
	numbers := make([]int64, 100)
	for number := range numbers {
		numbers[number] = int64(number)
	}
	query.Parameters = []bigquery.QueryParameter{{Name: "numbers", Value: numbers}}
	found, err := query.Read(ctx)
	if err != nil {
		return err
	}
	for {
		var read job
		err := found.Next(&read)
		if errors.Is(err, iterator.Done) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(read); err != nil {
			return err
		}
	}
}

func main() {
	if len(os.Args) != 5 {
		log.Fatal("bigquery ADDRESS TABLE FROM TO")
	}
	from, err := strconv.ParseInt(os.Args[3], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	to, err := strconv.ParseInt(os.Args[4], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], from, to); err != nil {
		log.Fatal(err)
	}
}
