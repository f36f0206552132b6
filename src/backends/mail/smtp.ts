// Mail over SMTP, and the formatting of messages. The only file that imports the mail package.
import { createTransport } from 'nodemailer';
import type { MailMessage } from '../../contracts/mailer.ts';

export interface SmtpOptions {
  readonly host: string;
  readonly port: number;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Requires encryption: implicit TLS on port 465, STARTTLS on others. */
  readonly tls: boolean;
  /** Timeout of connecting, of the greeting, and of idle periods after that. */
  readonly timeoutSeconds: number;
}

/** A message with its sender. */
export type CompleteMessage = Required<MailMessage>;

export interface Transport {
  deliver(message: CompleteMessage): Promise<void>;
  close(): void;
}

const connections = 2;
const implicitTlsPort = 465;

/** Creates a transport with a small connection pool, whose connections are opened on demand. */
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

/** Formats a message as MIME text. */
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
    // Clients choose parts of subjects, and a line break would start another header.
    subject: subject.replaceAll(/\p{Cc}+/gu, ' ').trim(),
    text,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}
