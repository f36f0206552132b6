// A mail server of the tests: it takes every message and keeps it.
import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { onTestFinished } from 'vitest';

export interface Letter {
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  /** Of the body, decoded, without the line break at its end. */
  readonly text: string;
  /** As it came. */
  readonly raw: string;
  /** Who logged in to send it. */
  readonly user: string | undefined;
  readonly isEncrypted: boolean;
}

export interface MailSink {
  readonly port: number;
  readonly letters: readonly Letter[];
  /** Resolves once that many letters have come. */
  received(count: number): Promise<readonly Letter[]>;
  /** Accepts no message until the release. Resolves when the first one waits. */
  hold(): Promise<{ readonly release: () => void }>;
}

/** Starts a server that ends with the test. */
export async function startMailSink(options: SMTPServerOptions = {}): Promise<MailSink> {
  const letters: Letter[] = [];
  const news = new EventEmitter();
  let gate = Promise.resolve();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: options.key === undefined ? ['STARTTLS'] : [],
    disableReverseLookup: true,
    onAuth: ({ username, password }, _session, done) =>
      password === 'secret' ? done(null, { user: username }) : done(new Error('wrong')),
    onData(stream, unit, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      const take = (): void => {
        const { envelope, user, secure } = unit;
        const raw = Buffer.concat(chunks).toString('utf8');
        const sender = envelope.mailFrom === false ? '' : (envelope.mailFrom?.address ?? '');
        letters.push({
          ...parse(raw),
          from: sender,
          to: envelope.rcptTo.map(({ address }) => address),
          raw,
          user: typeof user === 'string' ? user : undefined,
          isEncrypted: secure,
        });
        done();
        news.emit('letter');
      };
      stream.on('end', () => {
        news.emit('message');
        void gate.then(take);
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(resolve);
      }),
  );
  return {
    port: (server.server.address() as AddressInfo).port,
    letters,
    async received(count) {
      while (letters.length < count) await once(news, 'letter');
      return letters;
    },
    async hold() {
      let release = (): void => {};
      gate = new Promise((resolve) => {
        release = resolve;
      });
      await once(news, 'message');
      return { release };
    },
  };
}

function parse(raw: string): { readonly subject: string; readonly text: string } {
  const end = raw.indexOf('\r\n\r\n');
  const head = raw.slice(0, end).replaceAll(/\r\n[ \t]+/g, ' ');
  const subject = /^Subject: (.*)$/im.exec(head)?.[1] ?? '';
  const body = raw.slice(end + 4);
  const encoding = /^Content-Transfer-Encoding: (.*)$/im.exec(head)?.[1]?.trim().toLowerCase();
  return { subject, text: decode(body, encoding).replace(/\r?\n$/, '') };
}

function decode(body: string, encoding: string | undefined): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8');
  if (encoding !== 'quoted-printable') return body;
  const bytes = body
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
