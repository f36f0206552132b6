// Sends a mail from the command line, to test the mail settings.
import { silentLogger } from '../contracts/logger.ts';
import type { MailMessage } from '../contracts/mailer.ts';
import type { Settings } from '../settings/settings.ts';
import { openMailer } from '../backends/open-mailer.ts';

/**
 * Sends a test mail.
 *
 * @throws BackendUnavailable with the reason as its cause
 */
export async function sendTestMail(settings: Settings, recipient: string): Promise<void> {
  const mailer = openMailer(settings, silentLogger);
  const project = settings.get('project_name');
  const message: MailMessage = {
    to: [recipient],
    subject: `Test of the mails of ${project}`,
    text: 'This mail was sent from the command line. The mail settings work.',
  };
  try {
    await mailer.send(message);
  } finally {
    await mailer.close();
  }
}
