// Mail over SMTP, and the text of messages. The only file that imports the mail package.
import { createTransport } from 'nodemailer';
import type { MailMessage } from '../../contracts/mailer.ts';

export interface SmtpOptions {
  readonly host: string;
  readonly port: number;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Whether the connection must be encrypted: from its beginning on port 465, by STARTTLS on others. */
  readonly tls: boolean;
  /** Time limit of each step: connection, greeting, and every silence after that. */
  readonly timeoutSeconds: number;
}

/** A complete message. */
export type Letter = Required<MailMessage>;

export interface Transport {
  deliver(letter: Letter): Promise<void>;
  close(): void;
}

const connections = 2;
const implicitTlsPort = 465;

/** Returns a transport with a few connections to one server, opened when a message is sent. */
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
    async deliver(letter) {
      await transport.sendMail(toFields(letter));
    },
    close: () => transport.close(),
  };
}

/** Returns the text of a message in the format of mail. */
export async function formatLetter(letter: Letter, headers: Readonly<Record<string, string>> = {}): Promise<Buffer> {
  const composer = createTransport({ streamTransport: true, buffer: true });
  const { message } = await composer.sendMail({ ...toFields(letter), headers: { ...headers } });
  if (!Buffer.isBuffer(message)) throw new Error('expected the text of the message');
  return message;
}

interface Fields {
  readonly from: string;
  readonly to: string[];
  readonly subject: string;
  readonly text: string;
  readonly disableFileAccess: true;
  readonly disableUrlAccess: true;
}

function toFields({ sender, to, subject, text }: Letter): Fields {
  return {
    from: sender,
    to: [...to],
    // Users can influence subjects, and a line break would begin another header.
    subject: subject.replaceAll(/\p{Cc}+/gu, ' ').trim(),
    text,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}
