// Mail over SMTP, and the text of messages. The only file that knows the mail package.
import { createTransport } from 'nodemailer';
import type { MailMessage } from '../../contracts/mailer.ts';

export interface SmtpOptions {
  readonly host: string;
  readonly port: number;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Whether the connection must be encrypted: from its beginning on port 465, by STARTTLS on others. */
  readonly tls: boolean;
  /** For each step: connecting, greeting, and every silence after that. */
  readonly timeoutSeconds: number;
}

/** A message that is complete. */
export type CompleteMessage = Required<MailMessage>;

export interface Transport {
  deliver(message: CompleteMessage): Promise<void>;
  close(): void;
}

const connections = 2;
const implicitTlsPort = 465;

/** Keeps a few connections to one server, which are opened when there is something to send. */
export function smtpTransport({ host, port, username, password, tls, timeoutSeconds }: SmtpOptions): Transport {
  const timeout = timeoutSeconds * 1000;
  const transport = createTransport({
    pool: true,
    maxConnections: connections,
    host,
    port,
    secure: tls && port === implicitTlsPort,
    requireTLS: tls,
    ignoreTLS: !tls,
    connectionTimeout: timeout,
    greetingTimeout: timeout,
    socketTimeout: timeout,
    ...(username === undefined ? {} : { auth: { user: username, pass: password ?? '' } }),
  });
  return {
    async deliver(message) {
      await transport.sendMail(toFields(message));
    },
    close: () => transport.close(),
  };
}

/** The text of a message as it travels. */
export async function formatMessage(
  message: CompleteMessage,
  headers: Readonly<Record<string, string>> = {},
): Promise<Buffer> {
  const composer = createTransport({ streamTransport: true, buffer: true });
  const { message: text } = await composer.sendMail({ ...toFields(message), headers: { ...headers } });
  if (!Buffer.isBuffer(text)) throw new Error('expected the text of the message');
  return text;
}

interface Fields {
  readonly from: string;
  readonly to: string[];
  readonly subject: string;
  readonly text: string;
  readonly disableFileAccess: true;
  readonly disableUrlAccess: true;
}

function toFields({ sender, to, subject, text }: CompleteMessage): Fields {
  return {
    from: sender,
    to: [...to],
    // Users have a say in subjects; a line break would begin another header.
    subject: subject.replaceAll(/\p{Cc}+/gu, ' ').trim(),
    text,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}
