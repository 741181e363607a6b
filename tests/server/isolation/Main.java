import java.io.File;
import java.util.ArrayList;
import java.util.List;
import sun.misc.Signal;

/** A task: does what its first argument says. */
public class Main {
    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            // Runs a command and ends as it does.
            case "command" -> {
                String[] command = List.of(args).subList(1, args.length).toArray(String[]::new);
                System.exit(new ProcessBuilder(command).inheritIO().start().waitFor());
            }
            // Tells its user and whether it can read the program of the first process outside.
            case "tells" -> System.out.println("user " + System.getProperty("user.name") + " "
                + new File("/proc/1/exe").canRead() + " "
                + String.join(" ", System.getenv("NOMAD_ALLOC_DIR"), System.getenv("NOMAD_TASK_DIR")));
            // Waits for signals.
            case "waits" -> {
                Signal.handle(new Signal("HUP"), signal -> System.out.println("signalled"));
                Signal.handle(new Signal("INT"), signal -> {
                    System.out.println("ends");
                    System.exit(0);
                });
                System.out.println("runs");
                Thread.sleep(600_000);
            }
            // Takes more and more memory.
            case "grows" -> {
                List<byte[]> held = new ArrayList<>();
                while (true) {
                    byte[] more = new byte[1 << 20];
                    java.util.Arrays.fill(more, (byte) 1);
                    held.add(more);
                }
            }
            // Keeps three threads busy for three seconds.
            case "busy" -> {
                var before = ProcessHandle.current().info().totalCpuDuration().orElseThrow();
                long end = System.nanoTime() + 3_000_000_000L;
                List<Thread> threads = new ArrayList<>();
                for (int n = 0; n < 3; n++) {
                    threads.add(new Thread(() -> {
                        while (System.nanoTime() < end) { }
                    }));
                }
                for (Thread thread : threads) {
                    thread.start();
                }
                for (Thread thread : threads) {
                    thread.join();
                }
                var after = ProcessHandle.current().info().totalCpuDuration().orElseThrow();
                System.out.println("used " + after.minus(before).toMillis() + " ms");
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
    }
}
