// The interface of metrics systems. Names have no prefix and no `_total`; they have underscores and the unit.

export type Labels = Readonly<Record<string, string>>;

export interface MetricSink {
  /** Adds to a counter; default 1. */
  count(name: string, labels: Labels, times?: number): void;
  /** Adds a value to a set of distinct values. */
  countUnique(name: string, labels: Labels): void;
  /** Replaces a value that goes up and down. */
  gauge(name: string, labels: Labels, value: number): void;
  /** Records a duration. */
  time(name: string, labels: Labels, milliseconds: number): void;
  /** Records a size. */
  measure(name: string, labels: Labels, value: number): void;
}

/** Returns the description of a metric. */
export function helpOf(name: string): string {
  const known = helps[name];
  if (known !== undefined) return known;
  if (name.startsWith('authentication_')) return 'Duration of authentication by the policy.';
  if (name.startsWith('listeners_')) return 'Duration of the event listener.';
  return 'Duration of event handling by the plugin.';
}

const helps: Readonly<Record<string, string>> = {
  backend_storage_seconds: 'Duration of calls to the storage.',
  backend_permission_seconds: 'Duration of calls to the permissions.',
  backend_cache_seconds: 'Duration of calls to the cache.',
  backend_failures: 'Calls to backends that failed, except for errors of clients.',
  backend_pool_connections: 'Connections to a database, by state.',
  backend_pool_limit: 'Maximum number of connections to a database.',
  backend_pool_waiting: 'Callers that wait for a connection or for the write lock.',
  users: 'Requests of authenticated users.',
  authentication: 'Authenticated requests, by policy.',
  request_summary: 'Requests, by response.',
  request_duration_seconds: 'Time from the arrival of a request to its response.',
  request_size: 'Bytes of response bodies.',
  batch_size: 'Entries of batches.',
  batch_entries: 'Entries of batches, by response.',
  cache_hits: 'Cache lookups that found a value.',
  cache_misses: 'Cache lookups that found no value.',
  requests_refused: 'Requests refused because of overload, by exceeded limit.',
  live_streams: 'Open live streams and long polls, by transport.',
  live_streams_ended: 'Live streams and long polls that ended, by transport and reason.',
  live_frames: 'Frames sent to live streams.',
  live_resyncs: 'Frames that made clients of live streams fetch a list again.',
  live_lag_seconds: 'Time from the notice of a change to its frame in live streams.',
  transaction_retries: 'Retries of requests after conflicts in the database.',
};
