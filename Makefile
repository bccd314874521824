# make demo   install what is missing, build, and run pbmb on the sample tenant
# make test   install what the tests need and run everything
.PHONY: demo test setup build check bench generate

build:
	go build -o bin/pbmb ./server/cmd/pbmb
