// A bare Node.js server for comparison with live streams: keeps each GET open, and writes the bytes that standard input gave it
// to all of them when a POST arrives.
import http from 'node:http';
import process from 'node:process';
import { text } from 'node:stream/consumers';

const { frame } = JSON.parse(await text(process.stdin));
const bytes = Buffer.from(frame);
/** @type {Set<http.ServerResponse>} */
const streams = new Set();

const server = http.createServer((request, response) => {
  request.resume();
  if (request.method === 'POST') {
    for (const stream of streams) stream.write(bytes);
    response.end();
    return;
  }
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.write('event: current\ndata: {}\n\n');
  streams.add(response);
  response.on('close', () => streams.delete(response));
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}`);
});
