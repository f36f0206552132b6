// Bytes to a socket and back, for requests that no decent client sends.
import { connect, type Socket } from 'node:net';

export interface Exchange {
  readonly statuses: readonly number[];
  readonly text: string;
  readonly isClosed: boolean;
}

/** What is sent, or what sends it. */
export type Bytes = string | ((socket: Socket) => void);

/** Sends the bytes and reads until the other side closes, or has given so many answers. */
export function exchangeBytes(origin: string, bytes: Bytes, answers = 1): Promise<Exchange> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let text = '';
    const finish = (isClosed: boolean): void => {
      socket.destroy();
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
      resolve({ statuses, text, isClosed });
    };
    const countAnswers = (): number => text.split(/HTTP\/1\.1 [2-5]/).length - 1;
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      // Bodies come with their headers, but for those that are promised first.
      if (countAnswers() >= answers && text.includes('\r\n\r\n')) setImmediate(() => finish(false));
    });
    socket.on('end', () => finish(true));
    socket.on('close', () => finish(true));
    socket.on('error', () => finish(true));
    if (typeof bytes === 'string') socket.write(Buffer.from(bytes, 'latin1'));
    else bytes(socket);
  });
}
