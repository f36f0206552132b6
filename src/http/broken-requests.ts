// Responses to requests that Node cannot read, and for which it makes no request.
import type { Socket } from 'node:net';
import { errorTable } from '../core/errors.ts';

const brokenRequests: Readonly<Record<string, 'headersTooLarge' | 'methodNotAllowed' | 'requestTimeout'>> = {
  HPE_HEADER_OVERFLOW: 'headersTooLarge',
  HPE_INVALID_METHOD: 'methodNotAllowed',
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
};
/** The first line of a request, which has a method that Node does not know when Node refuses its method. */
const requestLine = /^[A-Za-z-]{1,32} \S+ HTTP\/1\.[01]\r\n/;

/** Responds to a malformed HTTP request with the standard error body, and closes the connection. */
export function refuseBrokenRequest(
  { code = '', rawPacket }: { code?: string; rawPacket?: unknown },
  socket: Socket,
): void {
  if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const start = Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1') : '';
  const isRequest = code !== 'HPE_INVALID_METHOD' || requestLine.test(start);
  const { status, errno, error, message } = errorTable[(isRequest ? brokenRequests[code] : undefined) ?? 'badRequest'];
  const body = JSON.stringify({ code: status, errno, error, message });
  const lines = [
    `HTTP/1.1 ${status} ${error}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    // Of any resource: which one was meant does not matter.
    ...(status === 405 ? ['Allow: GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE'] : []),
  ];
  // Clients would read a body after HEAD as the next response.
  socket.end(`${lines.join('\r\n')}\r\n\r\n${start.startsWith('HEAD ') ? '' : body}`);
}
