// The browser for tests: found on the machine, or fetched once from Debian's archive. TEST_CHROMIUM_BINARY names another
// one.
import path from 'node:path';
import { findProgram } from './debian-program.ts';

export interface BrowserProgram {
  readonly path: string;
  /** What it needs to find its libraries and fonts, when they are not where the system keeps them. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The browser, installed when it is missing. */
export async function findChromium(): Promise<BrowserProgram> {
  const { path: program, libraries } = await findProgram({
    names: ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'],
    variable: 'TEST_CHROMIUM_BINARY',
    install: 'chromium',
    // The one in `usr/bin` is a script that looks for the program where it would be installed.
    files: ['../lib/chromium/chromium'],
  });
  if (libraries === undefined) return { path: program, environment: {} };
  return {
    path: program,
    environment: {
      // PulseAudio keeps a library in a folder of its own, which only its installed package would find.
      LD_LIBRARY_PATH: [libraries, path.join(libraries, 'pulseaudio')].join(path.delimiter),
      FONTCONFIG_PATH: path.join(libraries, '..', '..', '..', 'etc', 'fonts'),
    },
  };
}
