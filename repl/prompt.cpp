#include "repl/prompt.hpp"

#include "repl/block_text.hpp"
#include "repl/editor.hpp"

namespace talc::repl {

int run_prompt(Session& session) {
    print(std::string("Talc ") + version() + "   :help for help, Ctrl-D to leave\n");
    Editor editor;
    std::string code;   // more than one read where the editor reads lines only
    while (!session.left) {
        std::string text;
        Input input = editor.read(*session.engine, code.empty() ? ">>> " : "... ", text);
        if (input == Input::End) {
            print("\n");
            break;
        }
        if (input == Input::Cancelled) {
            code.clear();
            continue;
        }
        text = to_utf8(without_prompts(to_code_points(text)));
        bool blank = text.find_first_not_of(" \t\n") == std::string::npos;
        if (code.empty() && blank) continue;
        if (code.empty() && is_command(text)) {
            editor.remember(text);
            run_command(session, text);
            continue;
        }
        if (code.empty() && asks_to_leave(session, text)) break;
        bool whole = text.find('\n') != std::string::npos;
        code += (code.empty() ? "" : "\n") + (blank ? std::string() : text);
        if (!whole && session.engine->completeness(code) == Completeness::Incomplete) continue;
        editor.remember(code);
        run_code(session, code);
        code.clear();
    }
    return session.status;
}

}  // namespace talc::repl
