// What a system that keeps metrics has to implement. Names have underscores and the unit, but neither prefix nor `_total`.

export type Labels = Readonly<Record<string, string>>;

export interface MetricSink {
  /** Adds to a counter. */
  count(name: string, labels: Labels, times?: number): void;
  /** Counts the labels once, however often they come. */
  countUnique(name: string, labels: Labels): void;
  /** Records a duration. */
  time(name: string, labels: Labels, milliseconds: number): void;
  /** Records a size. */
  measure(name: string, labels: Labels, value: number): void;
}

/** Returns the help text of a metric. */
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
