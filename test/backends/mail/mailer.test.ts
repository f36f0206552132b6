// The mailer with a mail server and with folders.
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMailer, type MailTransportOptions } from '../../../src/backends/mail/mailer.ts';
import type { Mailer } from '../../../src/contracts/mailer.ts';
import { startMailSink } from '../../support/mail-sink.ts';

interface Opened {
  readonly mailer: Mailer;
  readonly log: readonly string[];
}

function open(transport: MailTransportOptions, { maxWaiting = 10, closeTimeoutSeconds = 5 } = {}): Opened {
  const log: string[] = [];
  const note = (first: unknown, message?: string): void => void log.push(message ?? String(first));
  const logger = { debug: note, info: note, warn: note, error: note };
  const mailer = createMailer({
    transport,
    defaultSender: 'coffer@example.org',
    maxWaiting,
    closeTimeoutSeconds,
    logger,
  });
  onTestFinished(() => mailer.close());
  return { mailer, log };
}

function smtp(port: number, more: object = {}): MailTransportOptions {
  return { kind: 'smtp', smtp: { host: '127.0.0.1', port, tls: false, timeoutSeconds: 2, ...more } };
}

async function folder(): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), 'coffer-mail-'));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return path.join(made, 'box');
}

describe('mail over SMTP', () => {
  it('a message arrives with its sender, recipients and unchanged text.', async () => {
    const sink = await startMailSink();
    const { mailer } = open(smtp(sink.port));
    await mailer.send({ to: ['Zoe <zoe@example.org>', 'ann@example.org'], subject: 'Hello', text: 'Grüße\n.\nend' });
    await mailer.send({ to: ['zoe@example.org'], subject: 'Again', text: 'x', sender: 'other@example.org' });
    expect(sink.letters).toMatchObject([
      { from: 'coffer@example.org', to: ['zoe@example.org', 'ann@example.org'], subject: 'Hello', isEncrypted: false },
      { from: 'other@example.org', subject: 'Again', text: 'x' },
    ]);
    expect(sink.letters[0]?.text.replaceAll('\r\n', '\n')).toBe('Grüße\n.\nend');
  });

  it('a subject cannot add headers or recipients.', async () => {
    const sink = await startMailSink();
    const { mailer } = open(smtp(sink.port));
    await mailer.send({ to: ['zoe@example.org'], subject: 'Hi\r\nBcc: eve@example.org\n\nbody', text: 'x' });
    expect(sink.letters).toMatchObject([{ to: ['zoe@example.org'], subject: 'Hi Bcc: eve@example.org body' }]);
  });

  it('it logs in if a user name and a password are set.', async () => {
    const sink = await startMailSink({ allowInsecureAuth: true });
    const { mailer } = open(smtp(sink.port, { username: 'coffer', password: 'secret' }));
    await mailer.send({ to: ['zoe@example.org'], subject: 's', text: 't' });
    expect(sink.letters).toMatchObject([{ user: 'coffer' }]);
    const wrong = open(smtp(sink.port, { username: 'coffer', password: 'guess' }));
    await expect(wrong.mailer.send({ to: ['zoe@example.org'], subject: 's', text: 't' })).rejects.toThrow('message');
  });

  it('a server without encryption gets nothing if encryption is required.', async () => {
    const sink = await startMailSink();
    const { mailer } = open(smtp(sink.port, { tls: true }));
    await expect(mailer.send({ to: ['zoe@example.org'], subject: 's', text: 't' })).rejects.toMatchObject({
      name: 'BackendUnavailable',
      backend: 'mail',
    });
    expect(sink.letters).toEqual([]);
  });

  it('posted messages arrive, and a stop waits for them.', async () => {
    const sink = await startMailSink();
    const { mailer, log } = open(smtp(sink.port));
    for (const n of [1, 2, 3]) mailer.post({ to: [`zoe${n}@example.org`], subject: 's', text: 't' });
    await mailer.close();
    expect(sink.letters).toHaveLength(3);
    expect(log).toEqual([]);
  });

  it('an unreachable server is logged.', async () => {
    const { mailer, log } = open(smtp(1));
    mailer.post({ to: ['zoe@example.org'], subject: 's', text: 't' });
    await mailer.close();
    expect(log).toEqual(['A mail could not be sent']);
  });

  it('an unresponsive server blocks neither an unlimited number of messages nor a stop.', async () => {
    const silent = createServer(() => undefined);
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as AddressInfo;
    const { mailer, log } = open(smtp(port, { timeoutSeconds: 30 }), { maxWaiting: 2, closeTimeoutSeconds: 0.05 });
    for (const n of [1, 2, 3]) mailer.post({ to: [`zoe${n}@example.org`], subject: 's', text: 't' });
    expect(log).toEqual(['A mail was dropped: the queue is full']);
    await mailer.close();
  });
});

describe('mail into folders', () => {
  it('a maildir gets complete messages with their envelope, readable only by the owner.', async () => {
    const box = await folder();
    const { mailer } = open({ kind: 'maildir', folder: box });
    await mailer.send({ to: ['zoe@example.org', 'Ann <ann@example.org>'], subject: 'Hello', text: 'text' });
    const names = await readdir(path.join(box, 'new'));
    expect(names).toHaveLength(1);
    expect(await readdir(path.join(box, 'tmp'))).toEqual([]);
    const file = path.join(box, 'new', names[0]!);
    const text = await readFile(file, 'utf8');
    expect(text).toContain('X-Actually-To: zoe@example.org, Ann <ann@example.org>');
    expect(text).toContain('X-Actually-From: coffer@example.org');
    expect(text).toContain('Subject: Hello');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('the debug mailer writes each message to a file.', async () => {
    const box = await folder();
    const { mailer } = open({ kind: 'files', folder: box });
    for (const subject of ['one', 'two']) await mailer.send({ to: ['zoe@example.org'], subject, text: 't' });
    const names = (await readdir(box)).toSorted();
    expect(names.every((name) => name.endsWith('.eml'))).toBe(true);
    expect(await readFile(path.join(box, names[1]!), 'utf8')).toContain('Subject: two');
  });

  it('the testing mailer sends nothing.', async () => {
    const { mailer } = open({ kind: 'nowhere' });
    await expect(mailer.send({ to: ['zoe@example.org'], subject: 's', text: 't' })).resolves.toBeUndefined();
  });
});
