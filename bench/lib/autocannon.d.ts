// The part of autocannon that the load generator uses; the package has no types of its own.
declare module 'autocannon' {
  export interface Client {
    setRequests(requests: readonly object[]): void;
  }
  export interface Result {
    readonly errors: number;
    readonly timeouts: number;
  }
  export interface Options {
    readonly url: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly connections?: number;
    readonly duration?: number;
    readonly amount?: number;
    readonly sampleInt?: number;
    readonly setupClient?: (client: Client) => void;
  }
  export interface Instance {
    on(
      event: 'response',
      listener: (client: Client, status: number, bytes: number, milliseconds: number) => void,
    ): this;
  }
  export default function autocannon(
    options: Options,
    callback: (error: Error | null, result: Result) => void,
  ): Instance;
}
