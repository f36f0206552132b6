// Opens the mailer that the settings describe, when the first mail is sent.
import type { MailTransportOptions } from './mail/mailer.ts';
import type { Logger } from '../contracts/logger.ts';
import type { Mailer } from '../contracts/mailer.ts';
import type { Settings } from '../settings/settings.ts';

/** Folder, below the working folder, of messages that are written to files instead of sent. */
const debugFolder = 'mail';

/** Returns a mailer that loads its driver with the first mail. */
export function openMailer(settings: Settings, logger: Logger): Mailer {
  let opened: Promise<Mailer> | undefined;
  const open = (): Promise<Mailer> => (opened ??= load(settings, logger));
  const post: Mailer['post'] = (message) => {
    open().then(
      (mailer) => mailer.post(message),
      (error: unknown) => logger.error({ err: error }, 'A mail could not be sent'),
    );
  };
  return {
    send: async (message) => (await open()).send(message),
    post,
    close: async () => (await opened)?.close(),
  };
}

async function load(settings: Settings, logger: Logger): Promise<Mailer> {
  const { createMailer } = await import('./mail/mailer.ts');
  return createMailer({
    transport: transportOptions(settings),
    defaultSender: settings.get('mail.default_sender'),
    maxWaiting: settings.get('mail.max_waiting'),
    closeTimeoutSeconds: settings.get('mail.timeout_seconds'),
    logger,
  });
}

function transportOptions(settings: Settings): MailTransportOptions {
  const mailer = settings.get('mail.debug_mailer') ? 'debug' : settings.get('mail.mailer');
  if (mailer === 'testing') return { kind: 'nowhere' };
  if (mailer === 'debug') return { kind: 'files', folder: debugFolder };
  const queue = settings.get('mail.queue_path');
  if (queue !== undefined) return { kind: 'maildir', folder: queue };
  return {
    kind: 'smtp',
    smtp: {
      host: settings.get('mail.host'),
      port: settings.get('mail.port'),
      username: settings.get('mail.username'),
      password: settings.get('mail.password'),
      tls: settings.get('mail.tls'),
      timeoutSeconds: settings.get('mail.timeout_seconds'),
    },
  };
}
