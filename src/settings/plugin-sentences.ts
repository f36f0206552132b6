// What each built-in plugin is for, in a sentence. `coffer init` names the plugins in the file that it writes.

/** Sentences by the names that `includes` takes. */
export const pluginDescriptions: Readonly<Record<string, string>> = {
  default_bucket: 'Gives each user a personal bucket at /buckets/default.',
  history: 'Records every change of buckets, collections, groups and records.',
  admin: 'Serves the web console at /v1/admin/.',
  accounts: 'Manages users with passwords in the database.',
  openid: 'Accepts logins from OpenID Connect providers.',
  attachments: 'Stores files that belong to records.',
  quotas: 'Limits the number and size of the records in a bucket or collection.',
  signer: 'Signs collections, after a review where one is required.',
  changes: 'Lists recent changes of chosen collections for clients that poll.',
  emailer: 'Sends mails when objects change.',
  prometheus: 'Serves metrics for Prometheus at /v1/__metrics__.',
  statsd: 'Sends metrics to StatsD.',
  counters: 'Serves the number of objects of each kind at /v1/__counters__.',
  flush: 'Serves POST /v1/__flush__, which deletes all data. For development only.',
};
