package bookchange

// Record is where it belongs.
const Record = "insert into book_change (element_kind) values ($1)"
