// Prometheus' own checker of metrics, rules and configurations: found on the machine, or fetched once from Debian's
// archive. TEST_PROMTOOL names a program.
import { spawnSync } from 'node:child_process';
import { findProgram } from './debian-program.ts';

export interface Finding {
  readonly code: number | null;
  /** Lines of both outputs. */
  readonly lines: readonly string[];
}

export type Promtool = (args: readonly string[], input?: string) => Finding;

/**
 * Returns the program.
 *
 * @throws MissingProgram where it can be neither found nor fetched
 */
export async function findPromtool(): Promise<Promtool> {
  const { path } = await findProgram({
    names: ['promtool'],
    variable: 'TEST_PROMTOOL',
    install: 'prometheus',
    // The installation would start a server, and bring what its pages need.
    mustUnpack: true,
    unpack: ['prometheus'],
    files: ['promtool'],
  });
  return (args, input = '') => {
    const { status, stdout, stderr } = spawnSync(path, args, { input, encoding: 'utf8', timeout: 60_000 });
    return { code: status, lines: `${stdout}${stderr}`.split('\n').filter((line) => line !== '') };
  };
}
