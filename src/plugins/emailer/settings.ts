// Settings of the plugin. Those of the mail server are the service's own.
import { setting } from '../../settings/definition.ts';
import { integer } from '../../settings/readers.ts';

const section = 'Mails about changes';

export const emailerSettings = {
  'emailer.max_hooks': setting(integer({ min: 1 }), 'Hooks that a bucket or a collection may have.', {
    default: 20,
    section,
  }),
  'emailer.max_recipients': setting(
    integer({ min: 1 }),
    'Recipients that a hook may name, and addresses that one mail goes to; further members of groups get none.',
    { default: 100, section },
  ),
  'emailer.max_waiting': setting(
    integer({ min: 1 }),
    'Changes, and mails about them, that may wait at once; further ones are dropped and logged.',
    { default: 1000, section },
  ),
};
