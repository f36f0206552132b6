// Where metrics go, whatever system keeps them. Names are those before any prefix, with underscores and with the unit,
// but without `_total`.

export type Labels = Readonly<Record<string, string>>;

export interface MetricSink {
  /** Something happened, so many times; default once. */
  count(name: string, labels: Labels, times?: number): void;
  /** Somebody was here, who may have been here before. */
  countUnique(name: string, labels: Labels): void;
  /** Something took so long. */
  time(name: string, labels: Labels, milliseconds: number): void;
  /** Something had this size. */
  measure(name: string, labels: Labels, value: number): void;
}

/** What the numbers mean, for systems that tell. */
export function helpOf(name: string): string {
  const known = helps[name];
  if (known !== undefined) return known;
  if (name.startsWith('authentication_')) return 'Time that the policy took to tell who calls.';
  if (name.startsWith('listeners_')) return 'Time that the event listener took.';
  return 'Time that the plugin took for an event.';
}

const helps: Readonly<Record<string, string>> = {
  backend_storage_seconds: 'Time that calls to the storage took.',
  backend_permission_seconds: 'Time that calls to the permissions took.',
  backend_cache_seconds: 'Time that calls to the cache took.',
  backend_failures: 'Calls to backends that failed for reasons that are not the client’s.',
  backend_pool_connections: 'Connections to a database, by state.',
  backend_pool_limit: 'Connections to a database that there may be.',
  backend_pool_waiting: 'Callers that wait for a connection, or for their turn to write.',
  users: 'Requests of authenticated users.',
  authentication: 'Authenticated requests, by the policy that knew the caller.',
  request_summary: 'Requests, by their answers.',
  request_duration_seconds: 'Time from the arrival of a request to its answer.',
  request_size: 'Bytes of response bodies.',
  batch_size: 'Entries of batches.',
  batch_entries: 'Entries of batches, by their answers.',
  cache_hits: 'Keys that were found in the cache.',
  cache_misses: 'Keys that were not found in the cache.',
  requests_refused: 'Requests that were refused because the process has too much to do, by what it has too much of.',
  transaction_retries: 'Requests that were run again because they lost a race in the database.',
};
