// Package worker is the job queue between the api and the worker: the jobs there
// are, when they run by themselves, and the runner that each process has for its
// own queue. What a job does is in the packages that it calls.
//
// The queue is River's, in the same database. One process of all that run is
// River's leader and queues what is due, whichever side it is on: so every runner
// knows every schedule, and the handlers of its own queue alone.
package worker
