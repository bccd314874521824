package policies

// Vocabulary has every kind of resource with the actions that are asked of it.
// What is not in it, nothing asks.
func Vocabulary() map[Kind][]Action {
	return map[Kind][]Action{
		KindDataset:  {Describe, Query},
		KindBook:     {Read, Curate, Verify, Approve, EditConventions},
		KindThread:   {Create, Reply, Upvote, Accept, Archive},
		KindQueryLog: {Read},
		KindResult:   {Read},
		KindAdmin: {
			ManageSettings, ManageSecrets, ManagePeople, ManageServiceAccounts, ManagePII, ManageDatasets,
			ImportBook, RunSync, ReadAudit, RevokeConnection, ReadSyncEvents, ReadStatus,
		},
	}
}
