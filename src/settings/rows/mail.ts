// Settings of the mail that plugins send.
import { setting } from '../definition.ts';
import { choice, duration, flag, integer, optional, text } from '../readers.ts';

/** How mail leaves the service; names as existing deployments write them. */
export const mailSettings = {
  'mail.host': setting(text('a host name or an IP address'), 'Mail server that takes messages over.', {
    default: 'localhost',
  }),
  'mail.port': setting(
    integer({ min: 1, max: 65_535 }),
    'Its port. With mail.tls, 465 is encrypted from the beginning, and others switch to encryption.',
    { default: 25 },
  ),
  'mail.username': setting(optional(text()), 'Name to log in to the mail server with; no login unless set.', {
    default: undefined,
  }),
  'mail.password': setting(optional(text()), 'Password for it.', { default: undefined, isSecret: true }),
  'mail.tls': setting(
    flag(),
    'Encrypts the connection, and refuses servers that cannot, or whose certificate is not valid.',
    { default: false },
  ),
  'mail.default_sender': setting(text('an address'), 'Sender of messages that have none of their own.', {
    default: 'coffer@localhost',
  }),
  'mail.queue_path': setting(
    optional(text('a folder')),
    'Maildir that messages are put into, for another program to send; then mail.host is not used.',
    { default: undefined },
  ),
  'mail.mailer': setting(
    optional(choice('debug', 'testing')),
    'Instead of sending: debug writes each message to a file in the folder mail, testing drops it.',
    { default: undefined },
  ),
  'mail.debug_mailer': setting(flag(), 'The same as mail.mailer = debug.', { default: false }),
  'mail.timeout_seconds': setting(
    duration({ min: 0.1 }),
    'Seconds that the mail server may be silent before a message is given up.',
    { default: 10 },
  ),
  'mail.max_waiting': setting(
    integer({ min: 1 }),
    'Messages that may wait to be sent in the background; further ones are dropped and logged.',
    { default: 100 },
  ),
};
