// The response to an outgoing HTTP request, and an error in each case in which none arrives.

/** The events of a `ClientRequest` of Node.js that decide about its response. */
export interface OutgoingRequest<Response> {
  on(event: 'response', listener: (response: Response) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
}

/** The connection has ended without a response. */
export class NoResponse extends Error {
  constructor() {
    super('the connection ended without a response');
    this.name = 'NoResponse';
  }
}

/**
 * Returns the response when its headers have arrived. Listens to the request for good: errors after the response are ignored,
 * because the response has them too.
 *
 * @throws NoResponse; the error of the connection
 */
export function responseOf<Response>(outgoing: OutgoingRequest<Response>): Promise<Response> {
  return new Promise((resolve, reject) => {
    outgoing.on('response', resolve);
    outgoing.on('error', reject);
    // A switch to another protocol (101) closes the connection without a response and without an error.
    outgoing.on('close', () => reject(new NoResponse()));
  });
}
