package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/server/cli/command"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/wire"
)

func newRotateIdentity() *cobra.Command {
	return &cobra.Command{
		Use: "rotate-identity [api|worker]", Short: "Give this container a new identity and reseal for it what it reads",
		Long: `Makes a new age identity in IDENTITY_DIR, reseals for it every secret that this
container reads, and publishes it. Run it in the container, as the user that the
process runs as, and restart the process afterwards. In the api, people's tokens
are resealed after that restart, and the old identity goes once nothing is sealed
for it.

Which container it is follows from the database address that is given; name it
where the environment has both.`,
		ValidArgs: []string{string(vault.API), string(vault.Worker)},
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs)(c, args); err != nil {
				return &command.UsageError{Err: errors.New("name at most one of api and worker")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			cfg := config.Read(os.Getenv)
			container, err := containerOf(cfg, args)
			if err != nil {
				return err
			}
			recipient, err := wire.RotateIdentity(c.Context(), cfg, container)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "The %s has the new identity %s. Restart it now.\n", container, recipient)
			return nil
		},
	}
}

// containerOf is the container that is named or that the environment is of.
func containerOf(cfg config.Config, args []string) (vault.Container, error) {
	switch {
	case len(args) == 1:
		return vault.Container(args[0]), nil
	case cfg.DatabaseAPI != "" && cfg.DatabaseWorker != "":
		return "", &command.UsageError{Err: errors.New("DATABASE_URL_API and DATABASE_URL_WORKER are both set: say which, as in pbmb server rotate-identity api")}
	case cfg.DatabaseAPI != "":
		return vault.API, nil
	case cfg.DatabaseWorker != "":
		return vault.Worker, nil
	}
	return "", errors.New("DATABASE_URL_API or DATABASE_URL_WORKER must be the PostgreSQL address of this container")
}
