// Reads the fenced code blocks of a page, and what its comments promise.

export interface Block {
  file: string;
  line: number;
  language: string;
  code: string;
}

export function codeBlocks(file: string, page: string): Block[] {
  const blocks: Block[] = [];
  let open: (Block & { fence: string; indent: string }) | undefined;
  page.split('\n').forEach((text, index) => {
    const [, indent = '', fence, language = ''] = /^(\s*)(`{3,}|~{3,})\s*(\S*)/.exec(text) ?? [];
    if (!open) {
      if (fence) open = { file, line: index + 1, language, code: '', fence, indent };
    } else if (fence && language === '' && fence.startsWith(open.fence)) {
      blocks.push({ file, line: open.line, language: open.language, code: open.code });
      open = undefined;
    } else {
      open.code += `${text.startsWith(open.indent) ? text.slice(open.indent.length) : text}\n`;
    }
  });
  if (open) throw new Error(`${file}:${open.line}: this code block is never closed`);
  return blocks;
}

/** The values after `// →`, in order: what the block prints, line by line. */
export function promisedLines(code: string): string[] {
  return [...code.matchAll(/\/\/ → (.*)$/gm)].map(([, value]) => (value ?? '').trimEnd());
}

/**
 * Why a shell line cannot be trusted, or undefined. The lines are not run: installing a published package or cloning
 * needs the network. What they name must exist.
 */
export function shellProblem(line: string, scripts: readonly string[], packageName: string): string | undefined {
  const command = line.replace(/(^|\s)#.*$/, '').trim();
  if (command === '') return undefined;
  const script = /^npm (?:run (\S+)|(start|test))(?: -- .+)?$/.exec(command);
  if (script) {
    const name = script[1] ?? script[2] ?? '';
    return scripts.includes(name) ? undefined : `package.json has no script "${name}"`;
  }
  const installed = /^npm (?:install|i) (\S+)$/.exec(command);
  if (installed) return installed[1] === packageName ? undefined : `the package is called ${packageName}`;
  if (/^(git clone|cd) \S+$/.test(command)) return undefined;
  // These run until they are ended; `shell-session.ts` starts what they start.
  if (/^(npx sluice-server|sluice) (?:serve|gateway)( --[a-z-]+ \S+)*$/.test(command)) return undefined;
  return 'this command is not on the list of commands that the check understands';
}
