// One answer line for each line of UIMessages: what `convertToModelMessages` makes of them, or how it fails.
import { createInterface } from 'node:readline';
import { convertToModelMessages } from 'ai';

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { messages: await convertToModelMessages(JSON.parse(line)) };
  } catch (error) {
    answer = { error: String(error?.message ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
