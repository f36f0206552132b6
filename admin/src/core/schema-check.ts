// Checks objects against JSON Schemas in a worker, before anything is sent. The service has the last word.

export interface RowFault {
  readonly description: string;
}

/** A message to the worker: schemas with the first one, and objects as JSON texts. */
export interface CheckRequest {
  readonly schemas: readonly string[] | undefined;
  readonly rows: readonly string[];
}

export type CheckAnswer =
  | { readonly faults: readonly (RowFault | undefined)[] }
  | { /** Why the schema cannot be used. */ readonly failure: string };

/** Maximum duration of a check. A pattern may take for ever. */
const limitMilliseconds = 20_000;

export class SchemaChecker {
  readonly #worker = new Worker(new URL('./schema-worker.ts', import.meta.url), { type: 'module' });
  #schemas: readonly string[] | undefined;

  /** @param schemas JSON texts; an object must pass all of them */
  constructor(schemas: readonly string[]) {
    this.#schemas = schemas;
  }

  /**
   * Returns the fault of each object, or `undefined` for a valid one. One call at a time.
   *
   * @throws Error when the schema cannot be used, or takes too long
   */
  check(rows: readonly string[]): Promise<readonly (RowFault | undefined)[]> {
    const request: CheckRequest = { schemas: this.#schemas, rows };
    this.#schemas = undefined;
    return new Promise((resolve, reject) => {
      const end = new AbortController();
      const timer = setTimeout(() => {
        end.abort();
        this.close();
        reject(new Error('The check against the schema takes too long. A pattern may be too complex.'));
      }, limitMilliseconds);
      const finish = (settle: () => void): void => {
        clearTimeout(timer);
        end.abort();
        settle();
      };
      this.#worker.addEventListener(
        'message',
        ({ data }: MessageEvent<CheckAnswer>) =>
          finish(() => {
            if ('faults' in data) resolve(data.faults);
            else reject(new Error(`The schema cannot be checked here: ${data.failure}`));
          }),
        { signal: end.signal },
      );
      this.#worker.addEventListener(
        'error',
        () => finish(() => reject(new Error('The check against the schema could not be started.'))),
        { signal: end.signal },
      );
      this.#worker.postMessage(request, []);
    });
  }

  close(): void {
    this.#worker.terminate();
  }
}
