// A bare Node.js server: reads the request, parses a JSON body if any, and sends the response that standard input gave it:
// status, headers, body.
import http from 'node:http';
import process from 'node:process';
import { text } from 'node:stream/consumers';

const { status, headers, body: answer } = JSON.parse(await text(process.stdin));
const body = Buffer.from(answer);

const server = http.createServer((request, response) => {
  /** @type {Buffer[]} */
  const chunks = [];
  request.on('data', (/** @type {Buffer} */ chunk) => chunks.push(chunk));
  request.on('end', () => {
    if (chunks.length > 0) JSON.parse(Buffer.concat(chunks).toString());
    response.writeHead(status, headers);
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}`);
});
