// Settings of outgoing mail.
import { setting } from '../definition.ts';
import { choice, duration, flag, integer, mailbox, optional, text } from '../readers.ts';

/** Outgoing mail, with the names of Kinto. */
export const mailSettings = {
  'mail.host': setting(text('a host name or an IP address'), 'Host of the SMTP server.', {
    default: 'localhost',
  }),
  'mail.port': setting(
    integer({ min: 1, max: 65_535 }),
    'Port of the SMTP server. With mail.tls, port 465 uses TLS from the start, other ports STARTTLS.',
    { default: 25 },
  ),
  'mail.username': setting(optional(text()), 'User name for the SMTP server. Default: no login.', {
    default: undefined,
  }),
  'mail.password': setting(optional(text()), 'Password for the SMTP server.', { default: undefined, isSecret: true }),
  'mail.tls': setting(flag(), 'Whether TLS is required, with a valid certificate of the server.', { default: false }),
  'mail.default_sender': setting(mailbox(), 'Default sender of messages.', {
    default: 'coffer@localhost',
  }),
  'mail.queue_path': setting(
    optional(text('a folder')),
    'Maildir for messages, from which another program sends them. If set, mail.host is not used.',
    { default: undefined },
  ),
  'mail.mailer': setting(
    optional(choice('debug', 'testing')),
    'Replacement for sending: debug writes each message to a file in the folder mail, testing drops it.',
    { default: undefined },
  ),
  'mail.debug_mailer': setting(flag(), 'Whether mail.mailer is debug.', { default: false }),
  'mail.timeout_seconds': setting(
    duration({ min: 0.1 }),
    'Maximum time without data from the SMTP server before a message is given up.',
    { default: 10 },
  ),
  'mail.max_waiting': setting(
    integer({ min: 1 }),
    'Maximum number of messages waiting for delivery in the background. Further ones are dropped and logged.',
    { default: 100 },
  ),
};
